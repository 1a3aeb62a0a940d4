package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"

	v1 "clients/api/v1"
)

// scaleThrough reads and writes the scale as an autoscaler does: it knows nothing of the kind.
func scaleThrough(ctx context.Context, config *rest.Config, _ []string) error {
	runs, err := dynamicRuns(config)
	if err != nil {
		return err
	}
	if _, err := runs.Create(ctx, trainingRun("scaled", map[string]any{"image": "i"}), metav1.CreateOptions{}); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	getter, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(client))
	if err != nil {
		return err
	}
	scales := getter.Scales(namespace)
	resource := v1.TrainingRuns.GroupResource()
	read, err := scales.Get(ctx, resource, "scaled", metav1.GetOptions{})
	if err != nil {
		return err
	}
	first := read.Spec.Replicas
	read.Spec.Replicas = 4
	updated, err := scales.Update(ctx, resource, read, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	old := schema.GroupVersionResource{Group: resource.Group, Version: "v1alpha1", Resource: resource.Resource}
	patched, err := scales.Patch(ctx, old, "scaled", types.MergePatchType, []byte(`{"spec":{"replicas":6}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	_, refused := scales.Patch(ctx, old, "scaled", types.MergePatchType, []byte(`{"spec":{"replicas":101}}`), metav1.PatchOptions{})
	live, err := runs.Get(ctx, "scaled", metav1.GetOptions{})
	if err != nil {
		return err
	}
	report(map[string]any{"replicas": []int32{first, updated.Spec.Replicas, patched.Spec.Replicas}, "spec": live.Object["spec"], "refused": refused.Error()})
	return runs.Delete(ctx, "scaled", metav1.DeleteOptions{})
}
