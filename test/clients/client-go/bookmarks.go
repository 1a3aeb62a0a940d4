package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// awaitBookmark watches one object while another is written: before the watch ends, a bookmark says how far it has got.
func awaitBookmark(ctx context.Context, config *rest.Config, _ []string) error {
	runs, err := dynamicRuns(config)
	if err != nil {
		return err
	}
	list, err := runs.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	events, err := runs.Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=nobody", ResourceVersion: list.GetResourceVersion(), AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](5),
	})
	if err != nil {
		return err
	}
	defer events.Stop()
	created, err := runs.Create(ctx, trainingRun("somebody", map[string]any{"image": "i"}), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	seen := []string{}
	reached := ""
	for event := range events.ResultChan() {
		seen = append(seen, string(event.Type))
		reached = event.Object.(*unstructured.Unstructured).GetResourceVersion()
	}
	if len(seen) == 0 {
		return fmt.Errorf("the watch has ended without a bookmark")
	}
	report(map[string]any{"events": seen, "reached": reached == created.GetResourceVersion()})
	return runs.Delete(ctx, "somebody", metav1.DeleteOptions{})
}
