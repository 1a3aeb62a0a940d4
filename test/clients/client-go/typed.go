package main

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	v1 "clients/api/v1"
)

type typedRuns = gentype.ClientWithList[*v1.TrainingRun, *v1.TrainingRunList]

// newTypedRuns makes what client-gen would: a typed client of v1.
func newTypedRuns(config *rest.Config) (*typedRuns, error) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	typed := rest.CopyConfig(config)
	typed.GroupVersion, typed.APIPath = &v1.GroupVersion, "/apis"
	typed.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(typed)
	if err != nil {
		return nil, err
	}
	return gentype.NewClientWithList[*v1.TrainingRun, *v1.TrainingRunList](
		"trainingruns", client, runtime.NewParameterCodec(scheme), namespace,
		func() *v1.TrainingRun { return &v1.TrainingRun{} }, func() *v1.TrainingRunList { return &v1.TrainingRunList{} },
	), nil
}

// typedClient does every verb with Go types.
func typedClient(ctx context.Context, config *rest.Config, _ []string) error {
	runs, err := newTypedRuns(config)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context, *typedRuns) error{writeTyped, refuseTyped, incrementTogether, deleteTyped} {
		if err := step(ctx, runs); err != nil {
			return err
		}
	}
	return nil
}

func writeTyped(ctx context.Context, runs *typedRuns) error {
	run := &v1.TrainingRun{ObjectMeta: metav1.ObjectMeta{GenerateName: "typed-", Labels: map[string]string{"set": "typed"}}, Spec: v1.TrainingRunSpec{Image: "typed:1"}}
	created, err := runs.Create(ctx, run, metav1.CreateOptions{FieldManager: "typed-creator"})
	if err != nil {
		return err
	}
	report(map[string]any{"what": "created", "replicas": created.Spec.Replicas, "manager": created.ManagedFields[0].Manager, "generation": created.Generation})
	events, err := runs.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + created.Name, ResourceVersion: created.ResourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	created.Spec.Replicas = ptr.To[int32](3)
	updated, err := runs.Update(ctx, created, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	meta.SetStatusCondition(&updated.Status.Conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Trained", ObservedGeneration: updated.Generation})
	status, err := runs.UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	patched, err := runs.Patch(ctx, created.Name, types.JSONPatchType, []byte(`[{"op":"add","path":"/spec/args","value":["--fast"]}]`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	report(map[string]any{"what": "updated", "generations": []int64{updated.Generation, status.Generation, patched.Generation}, "ready": meta.IsStatusConditionTrue(status.Status.Conditions, "Ready")})
	if err := runs.Delete(ctx, created.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &created.UID}}); err != nil {
		return err
	}
	seen := []string{}
	for event := range events.ResultChan() {
		seen = append(seen, string(event.Type)+" "+strconv.FormatInt(event.Object.(*v1.TrainingRun).Generation, 10))
		if event.Type == "DELETED" {
			break
		}
	}
	report(map[string]any{"what": "watched", "events": seen})
	return nil
}

func refuseTyped(ctx context.Context, runs *typedRuns) error {
	_, missing := runs.Get(ctx, "missing", metav1.GetOptions{})
	run := &v1.TrainingRun{ObjectMeta: metav1.ObjectMeta{Name: "refused"}, Spec: v1.TrainingRunSpec{Image: "i", Replicas: ptr.To[int32](11)}}
	_, invalid := runs.Create(ctx, run, metav1.CreateOptions{})
	run.Spec.Replicas = nil
	if _, err := runs.Create(ctx, run, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, exists := runs.Create(ctx, run, metav1.CreateOptions{})
	run.ResourceVersion = "1"
	_, conflict := runs.Update(ctx, run, metav1.UpdateOptions{})
	report(map[string]any{
		"what": "refused", "notFound": apierrors.IsNotFound(missing), "invalid": invalid.Error(), "isInvalid": apierrors.IsInvalid(invalid),
		"alreadyExists": apierrors.IsAlreadyExists(exists), "conflict": apierrors.IsConflict(conflict),
	})
	return nil
}

// incrementTogether has eight writers add to one number, each retrying its conflicts.
func incrementTogether(ctx context.Context, runs *typedRuns) error {
	const writers, times = 8, 5
	var conflicts atomic.Int32
	failures := make(chan error, writers)
	var together sync.WaitGroup
	for range writers {
		together.Go(func() {
			for range times {
				backoff := wait.Backoff{Steps: 200, Duration: 5 * time.Millisecond, Jitter: 1}
				failure := retry.OnError(backoff, apierrors.IsConflict, func() error {
					run, err := runs.Get(ctx, "refused", metav1.GetOptions{})
					if err != nil {
						return err
					}
					number, _ := strconv.Atoi(run.Annotations["number"])
					metav1.SetMetaDataAnnotation(&run.ObjectMeta, "number", strconv.Itoa(number+1))
					_, err = runs.Update(ctx, run, metav1.UpdateOptions{})
					if apierrors.IsConflict(err) {
						conflicts.Add(1)
					}
					return err
				})
				if failure != nil {
					failures <- failure
					return
				}
			}
		})
	}
	together.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	run, err := runs.Get(ctx, "refused", metav1.GetOptions{})
	if err != nil {
		return err
	}
	report(map[string]any{"what": "incremented", "number": run.Annotations["number"], "conflicts": conflicts.Load()})
	return nil
}

func deleteTyped(ctx context.Context, runs *typedRuns) error {
	selected, err := runs.List(ctx, metav1.ListOptions{FieldSelector: "spec.image=i"})
	if err != nil {
		return err
	}
	if err := runs.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.image=i"}); err != nil {
		return err
	}
	left, err := runs.List(ctx, metav1.ListOptions{FieldSelector: "spec.image=i"})
	if err != nil {
		return err
	}
	_, unknown := runs.List(ctx, metav1.ListOptions{FieldSelector: "spec.replicas=1"})
	report(map[string]any{"what": "deleted", "selected": len(selected.Items), "left": len(left.Items), "unknownField": unknown.Error()})
	return nil
}
