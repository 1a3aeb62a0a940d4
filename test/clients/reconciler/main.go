// Command reconciler is a controller made with controller-runtime: for each TrainingRun it keeps one Checkpoint for each replica,
// and says as JSON lines what it does.
//
// With "direct" after it, it only uses the client once.
//
//	reconciler KUBECONFIG [direct]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	v1 "clients/api/v1"
)

func main() {
	ctrl.SetLogger(klog.Background())
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(args []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	if len(args) > 1 && args[1] == "direct" {
		return useDirectly(context.Background(), config)
	}
	return control(config)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, corev1.AddToScheme, autoscalingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

func control(config *rest.Config) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		// Leader election needs coordination.k8s.io Leases, which a cluster has and this server does not serve.
		LeaderElection:         false,
		Metrics:                server.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			// Only these are this controller's: the server selects them, and so it knows of no other.
			&v1.TrainingRun{}: {Field: fields.OneTermEqualSelector("spec.image", "reconciled:1")},
			&corev1.Secret{}:  {Field: fields.OneTermEqualSelector("type", "ml.example.com/credentials")},
		}},
	})
	if err != nil {
		return err
	}
	//nolint:staticcheck // The newer recorder writes events.k8s.io/v1, which a cluster has and this server does not serve.
	recorder := manager.GetEventRecorderFor("trainer")
	reconciler := &trainingRunReconciler{client: manager.GetClient(), scheme: scheme, recorder: recorder}
	err = manager.GetFieldIndexer().IndexField(context.Background(), &v1.TrainingRun{}, credentialsIndex, credentialsOf)
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&v1.TrainingRun{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&v1.Checkpoint{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(reconciler.runsWith)).
		Complete(reconciler)
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

var printing sync.Mutex

// report prints one line.
func report(facts map[string]any) {
	printing.Lock()
	defer printing.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(facts); err != nil {
		panic(err)
	}
}
