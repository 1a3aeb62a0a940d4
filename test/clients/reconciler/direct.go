package main

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "clients/api/v1"
)

// useDirectly does with controller-runtime's client what needs no controller: nothing is cached.
func useDirectly(ctx context.Context, config *rest.Config) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	direct, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	owned := client.WithFieldOwner(client.NewNamespacedClient(direct, "default"), "direct")
	for _, step := range []func(context.Context, client.Client) error{applyDirectly, scaleDirectly, deleteDirectly} {
		if err := step(ctx, owned); err != nil {
			return err
		}
	}
	return nil
}

func applyDirectly(ctx context.Context, c client.Client) error {
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": "TrainingRun", "metadata": map[string]any{"name": "direct", "namespace": "default", "labels": map[string]any{"set": "direct"}},
		"spec": map[string]any{"image": "direct:1", "replicas": int64(2)},
	}}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(config)); err != nil {
		return err
	}
	run := &v1.TrainingRun{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "direct"}, run); err != nil {
		return err
	}
	dry := run.DeepCopy()
	dry.Spec.Args = []string{"dry"}
	if err := c.Update(ctx, dry, client.DryRunAll); err != nil {
		return err
	}
	strict := config.DeepCopy()
	strict.SetResourceVersion(run.ResourceVersion)
	strict.Object["spec"].(map[string]any)["wrokers"] = int64(1)
	refused := c.Update(ctx, strict, client.FieldValidation("Strict"))
	old := run.DeepCopy()
	old.ResourceVersion = "1"
	stale := client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
	changed := old.DeepCopy()
	changed.Spec.Args = []string{"late"}
	report(map[string]any{
		"what": "applied", "manager": run.ManagedFields[0].Manager + " " + string(run.ManagedFields[0].Operation), "dry": dry.Spec.Args, "strict": refused.Error(),
		"stale": apierrors.IsConflict(c.Patch(ctx, changed, stale)),
	})
	return nil
}

func scaleDirectly(ctx context.Context, c client.Client) error {
	run := &v1.TrainingRun{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "direct"}}
	scale := &autoscalingv1.Scale{}
	if err := c.SubResource("scale").Get(ctx, run, scale); err != nil {
		return err
	}
	first := scale.Spec.Replicas
	scale.Spec.Replicas = 5
	if err := c.SubResource("scale").Update(ctx, run, client.WithSubResourceBody(scale)); err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(run), run); err != nil {
		return err
	}
	report(map[string]any{"what": "scaled", "replicas": []int32{first, *run.Spec.Replicas}})
	return nil
}

func deleteDirectly(ctx context.Context, c client.Client) error {
	run := &v1.TrainingRun{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "direct"}, run); err != nil {
		return err
	}
	result, err := controllerutil.CreateOrUpdate(ctx, c, run, func() error {
		controllerutil.AddFinalizer(run, finalizer)
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.DeleteAllOf(ctx, &v1.TrainingRun{}, client.MatchingLabels{"set": "direct"}, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return err
	}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(v1.GroupVersion.WithKind("TrainingRun"))
	if err := c.Get(ctx, client.ObjectKeyFromObject(run), partial); err != nil {
		return err
	}
	held := append([]string(nil), partial.Finalizers...)
	patch := client.MergeFrom(partial.DeepCopy())
	controllerutil.RemoveFinalizer(partial, finalizer)
	if err := c.Patch(ctx, partial, patch); err != nil {
		return err
	}
	list := &v1.TrainingRunList{}
	if err := c.List(ctx, list, client.MatchingFields{"spec.image": "direct:1"}, client.Limit(10)); err != nil {
		return err
	}
	report(map[string]any{"what": "deleted", "result": result, "held": held, "left": len(list.Items)})
	return nil
}
