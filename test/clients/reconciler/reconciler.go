package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "clients/api/v1"
)

const (
	finalizer        = "ml.example.com/checkpoints"
	credentialsIndex = "spec.credentialsRef.name"
)

type trainingRunReconciler struct {
	client   client.Client
	scheme   *runtime.Scheme
	recorder record.EventRecorder
}

// Reconcile makes the checkpoints of a run, takes those away that are too many, and says in the status how it stands.
func (r *trainingRunReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	run := &v1.TrainingRun{}
	if err := r.client.Get(ctx, request.NamespacedName, run); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !run.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finish(ctx, run)
	}
	if controllerutil.AddFinalizer(run, finalizer) {
		if err := r.client.Update(ctx, run); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.keepCheckpoints(ctx, run); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.updateStatus(ctx, run)
}

func credentialsOf(object client.Object) []string {
	if ref := object.(*v1.TrainingRun).Spec.CredentialsRef; ref != nil {
		return []string{ref.Name}
	}
	return nil
}

// runsWith are the runs that a Secret matters to.
func (r *trainingRunReconciler) runsWith(ctx context.Context, secret client.Object) []ctrl.Request {
	runs := &v1.TrainingRunList{}
	if err := r.client.List(ctx, runs, client.InNamespace(secret.GetNamespace()), client.MatchingFields{credentialsIndex: secret.GetName()}); err != nil {
		return nil
	}
	requests := []ctrl.Request{}
	for _, run := range runs.Items {
		requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&run)})
	}
	return requests
}

// finish lets a deleted run go; its checkpoints have it as their owner.
func (r *trainingRunReconciler) finish(ctx context.Context, run *v1.TrainingRun) error {
	before := run.DeepCopy()
	if !controllerutil.RemoveFinalizer(run, finalizer) {
		return nil
	}
	report(map[string]any{"what": "finished", "name": run.Name})
	return client.IgnoreNotFound(r.client.Patch(ctx, run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

func checkpointName(run *v1.TrainingRun, worker int32) string {
	return fmt.Sprintf("%s-%d", run.Name, worker)
}

func (r *trainingRunReconciler) keepCheckpoints(ctx context.Context, run *v1.TrainingRun) error {
	for worker := range *run.Spec.Replicas {
		checkpoint := &v1.Checkpoint{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: checkpointName(run, worker)}}
		result, err := controllerutil.CreateOrPatch(ctx, r.client, checkpoint, func() error {
			checkpoint.Spec = v1.CheckpointSpec{Run: run.Name, Worker: worker}
			return controllerutil.SetControllerReference(run, checkpoint, r.scheme)
		})
		if err != nil {
			return err
		}
		if result != controllerutil.OperationResultNone {
			report(map[string]any{"what": "checkpoint " + string(result), "name": checkpoint.Name})
		}
	}
	checkpoints := &v1.CheckpointList{}
	if err := r.client.List(ctx, checkpoints, client.InNamespace(run.Namespace)); err != nil {
		return err
	}
	for _, checkpoint := range checkpoints.Items {
		if metav1.IsControlledBy(&checkpoint, run) && checkpoint.Spec.Worker >= *run.Spec.Replicas {
			if err := client.IgnoreNotFound(r.client.Delete(ctx, &checkpoint, client.Preconditions{UID: &checkpoint.UID})); err != nil {
				return err
			}
		}
	}
	return nil
}

// updateStatus patches the conditions and applies the numbers, each by its own manager.
func (r *trainingRunReconciler) updateStatus(ctx context.Context, run *v1.TrainingRun) error {
	condition := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Trained", Message: "every worker has a checkpoint", ObservedGeneration: run.Generation}
	if run.Spec.CredentialsRef != nil {
		secret := &corev1.Secret{}
		if err := r.client.Get(ctx, types.NamespacedName{Namespace: run.Namespace, Name: run.Spec.CredentialsRef.Name}, secret); err != nil {
			condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "NoCredentials", err.Error()
		}
	}
	before := run.DeepCopy()
	if meta.SetStatusCondition(&run.Status.Conditions, condition) {
		if err := r.client.Status().Patch(ctx, run, client.MergeFrom(before)); err != nil {
			return err
		}
		r.recorder.Event(run, corev1.EventTypeNormal, condition.Reason, condition.Message)
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": "TrainingRun",
		"metadata": map[string]any{"name": run.Name, "namespace": run.Namespace},
		"status":   map[string]any{"replicas": int64(*run.Spec.Replicas), "observedGeneration": run.Generation, "selector": "run=" + run.Name},
	}}
	err := r.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(status), client.FieldOwner("trainer"), client.ForceOwnership)
	report(map[string]any{"what": "reconciled", "name": run.Name, "generation": run.Generation, "replicas": *run.Spec.Replicas, "reason": condition.Reason})
	return err
}
