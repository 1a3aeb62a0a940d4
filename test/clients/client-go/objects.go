package main

import (
	"context"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	v1 "clients/api/v1"
)

const namespace = "default"

// trainingRun is one of v1 with this spec.
func trainingRun(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1.GroupVersion.String(),
		"kind":       "TrainingRun",
		"metadata":   map[string]any{"name": name},
		"spec":       spec,
	}}
}

// dynamicRuns is the dynamic client of v1.
func dynamicRuns(config *rest.Config) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.Resource(v1.TrainingRuns).Namespace(namespace), nil
}

// populate creates PREFIX-0 to PREFIX-(COUNT-1), sixteen at a time.
func populate(ctx context.Context, config *rest.Config, args []string) error {
	prefix := args[0]
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	runs, err := dynamicRuns(config)
	if err != nil {
		return err
	}
	numbers := make(chan int)
	failures := make(chan error, 16)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := range numbers {
				object := trainingRun(prefix+"-"+strconv.Itoa(i), map[string]any{"image": "trainer:" + strconv.Itoa(i%10)})
				object.SetLabels(map[string]string{"set": prefix})
				if _, err := runs.Create(ctx, object, metav1.CreateOptions{}); err != nil {
					select {
					case failures <- err:
					default:
					}
				}
			}
		})
	}
	for i := range count {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	report(map[string]any{"created": count})
	return nil
}
