// Package v1 has the Go types of ml.example.com/v1, as controller-gen would make them.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	GroupVersion = schema.GroupVersion{Group: "ml.example.com", Version: "v1"}
	TrainingRuns = GroupVersion.WithResource("trainingruns")
)

type TrainingRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              TrainingRunSpec   `json:"spec"`
	Status            TrainingRunStatus `json:"status,omitempty"`
}

type TrainingRunSpec struct {
	Image          string         `json:"image"`
	Replicas       *int32         `json:"replicas,omitempty"`
	CredentialsRef *CredentialRef `json:"credentialsRef,omitempty"`
	Args           []string       `json:"args,omitempty"`
	Env            []EnvVar       `json:"env,omitempty"`
}

type CredentialRef struct {
	Name string `json:"name"`
}

type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

type TrainingRunStatus struct {
	Replicas           int32              `json:"replicas,omitempty"`
	Selector           string             `json:"selector,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type TrainingRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrainingRun `json:"items"`
}

type Checkpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CheckpointSpec `json:"spec"`
}

type CheckpointSpec struct {
	Run    string `json:"run,omitempty"`
	Worker int32  `json:"worker"`
}

type CheckpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Checkpoint `json:"items"`
}

// AddToScheme registers the types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &TrainingRun{}, &TrainingRunList{}, &Checkpoint{}, &CheckpointList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
