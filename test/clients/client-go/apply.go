package main

import (
	"context"
	"errors"
	"sort"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// applyByTwo is server-side apply through the dynamic client by managers that conflict.
func applyByTwo(ctx context.Context, config *rest.Config, _ []string) error {
	runs, err := dynamicRuns(config)
	if err != nil {
		return err
	}
	apply := func(manager string, spec map[string]any, force bool) (*unstructured.Unstructured, error) {
		return runs.Apply(ctx, "applied", trainingRun("applied", spec), metav1.ApplyOptions{FieldManager: manager, Force: force})
	}
	env := func(name, value string) []any { return []any{map[string]any{"name": name, "value": value}} }
	if _, err := apply("alice", map[string]any{"image": "i", "replicas": int64(2), "env": env("A", "1")}, false); err != nil {
		return err
	}
	_, conflict := apply("bob", map[string]any{"replicas": int64(3)}, false)
	reportConflict(conflict)
	if _, err := apply("bob", map[string]any{"replicas": int64(3), "env": env("B", "2")}, true); err != nil {
		return err
	}
	// Who applies less gives up what is left out.
	merged, err := apply("alice", map[string]any{"image": "i"}, false)
	if err != nil {
		return err
	}
	report(map[string]any{"what": "merged", "spec": merged.Object["spec"]})
	return applyStatus(ctx, runs)
}

func reportConflict(conflict error) {
	var status *apierrors.StatusError
	errors.As(conflict, &status)
	causes := []string{}
	for _, cause := range status.Status().Details.Causes {
		causes = append(causes, string(cause.Type)+" "+cause.Field+": "+cause.Message)
	}
	report(map[string]any{"what": "conflict", "isConflict": apierrors.IsConflict(conflict), "message": conflict.Error(), "causes": causes})
}

func applyStatus(ctx context.Context, runs dynamic.ResourceInterface) error {
	object := trainingRun("applied", nil)
	delete(object.Object, "spec")
	object.Object["status"] = map[string]any{"replicas": int64(1)}
	applied, err := runs.ApplyStatus(ctx, "applied", object, metav1.ApplyOptions{FieldManager: "controller"})
	if err != nil {
		return err
	}
	managers := []string{}
	for _, entry := range applied.GetManagedFields() {
		managers = append(managers, entry.Manager+" "+string(entry.Operation)+" "+entry.Subresource)
	}
	sort.Strings(managers)
	report(map[string]any{"what": "managers", "managers": managers, "generation": applied.GetGeneration()})
	return runs.Delete(ctx, "applied", metav1.DeleteOptions{})
}
