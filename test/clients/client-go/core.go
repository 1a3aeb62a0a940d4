package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// coreKinds uses the generated clientset for Secrets and Namespaces, in JSON and in protobuf.
func coreKinds(ctx context.Context, config *rest.Config, _ []string) error {
	for name, contentType := range map[string]string{"json": runtime.ContentTypeJSON, "protobuf": runtime.ContentTypeProtobuf} {
		typed := rest.CopyConfig(config)
		typed.ContentType = contentType
		clientset, err := kubernetes.NewForConfig(typed)
		if err != nil {
			return err
		}
		if err := useSecrets(ctx, clientset, "core-"+name); err != nil {
			return err
		}
	}
	return nil
}

func useSecrets(ctx context.Context, clientset kubernetes.Interface, name string) error {
	if _, err := clientset.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	secrets := clientset.CoreV1().Secrets(name)
	secret, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"a": "1"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(name))
	lister := factory.Core().V1().Secrets().Lister()
	factory.StartWithContext(ctx)
	synced := cache.WaitForCacheSync(ctx.Done(), factory.Core().V1().Secrets().Informer().HasSynced)
	secret.Data["b"] = []byte{0, 255}
	if secret, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return err
	}
	applied, err := secrets.Apply(ctx, applycorev1.Secret("s", name).WithStringData(map[string]string{"c": "3"}), metav1.ApplyOptions{FieldManager: "applier"})
	if err != nil {
		return err
	}
	cached, err := lister.Secrets(name).Get("s")
	for wait := 0; wait < 100 && err == nil && cached.ResourceVersion != applied.ResourceVersion; wait++ {
		time.Sleep(20 * time.Millisecond)
		cached, err = lister.Secrets(name).Get("s")
	}
	if err != nil {
		return err
	}
	if err := clientset.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	report(map[string]any{"name": name, "synced": synced, "type": applied.Type, "data": applied.Data, "cached": cached.Data})
	return nil
}

// recordEvents has an EventRecorder tell the same thing of an object three times.
func recordEvents(ctx context.Context, config *rest.Config, _ []string) error {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	runs, err := dynamicRuns(config)
	if err != nil {
		return err
	}
	run, err := runs.Create(ctx, trainingRun("told", map[string]any{"image": "i"}), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	events := clientset.CoreV1().Events(namespace)
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: events})
	recorder := broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: "trainer"})
	for range 3 {
		recorder.Event(run, corev1.EventTypeNormal, "Trained", "an epoch is over")
	}
	selector := "involvedObject.kind=TrainingRun,involvedObject.uid=" + string(run.GetUID())
	for range 100 {
		list, err := events.List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			return err
		}
		if len(list.Items) == 1 && list.Items[0].Count == 3 {
			event := list.Items[0]
			report(map[string]any{"count": event.Count, "reason": event.Reason, "object": event.InvolvedObject.Name, "apiVersion": event.InvolvedObject.APIVersion})
			return runs.Delete(ctx, "told", metav1.DeleteOptions{})
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the events of %s did not become one", run.GetName())
}
