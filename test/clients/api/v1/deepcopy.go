package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func (in *TrainingRun) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *TrainingRun) DeepCopy() *TrainingRun {
	out := &TrainingRun{TypeMeta: in.TypeMeta, ObjectMeta: *in.ObjectMeta.DeepCopy(), Spec: in.Spec, Status: in.Status}
	if in.Spec.Replicas != nil {
		replicas := *in.Spec.Replicas
		out.Spec.Replicas = &replicas
	}
	if in.Spec.CredentialsRef != nil {
		ref := *in.Spec.CredentialsRef
		out.Spec.CredentialsRef = &ref
	}
	out.Spec.Args = append([]string(nil), in.Spec.Args...)
	out.Spec.Env = append([]EnvVar(nil), in.Spec.Env...)
	out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
	return out
}

func (in *TrainingRunList) DeepCopyObject() runtime.Object {
	out := &TrainingRunList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopy())
	}
	return out
}

func (in *Checkpoint) DeepCopyObject() runtime.Object { return in.DeepCopy() }

func (in *Checkpoint) DeepCopy() *Checkpoint {
	return &Checkpoint{TypeMeta: in.TypeMeta, ObjectMeta: *in.ObjectMeta.DeepCopy(), Spec: in.Spec}
}

func (in *CheckpointList) DeepCopyObject() runtime.Object {
	out := &CheckpointList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy()}
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopy())
	}
	return out
}
