package main

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	v1 "clients/api/v1"
)

// heard is a WarningHandler that keeps what it is told.
type heard struct {
	mutex sync.Mutex
	texts []string
}

func (h *heard) HandleWarningHeader(_ int, _ string, text string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.texts = append(h.texts, text)
}

// hearWarnings writes a field that is not known through a version that is deprecated.
func hearWarnings(ctx context.Context, config *rest.Config, _ []string) error {
	warnings := &heard{}
	warned := rest.CopyConfig(config)
	warned.WarningHandler = warnings
	client, err := dynamic.NewForConfig(warned)
	if err != nil {
		return err
	}
	object := trainingRun("warned", map[string]any{"image": "i", "wrokers": int64(2)})
	object.SetAPIVersion(v1.GroupVersion.Group + "/v1alpha1")
	runs := client.Resource(schema.GroupVersionResource{Group: v1.GroupVersion.Group, Version: "v1alpha1", Resource: "trainingruns"}).Namespace(namespace)
	_, strict := runs.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	refusal := strict.Error()
	atRefusal := len(warnings.texts)
	if _, err := runs.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationWarn}); err != nil {
		return err
	}
	report(map[string]any{"strict": refusal, "warnings": warnings.texts[atRefusal:]})
	return runs.Delete(ctx, "warned", metav1.DeleteOptions{})
}
