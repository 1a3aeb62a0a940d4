package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	v1 "clients/api/v1"
)

// runInformers runs a dynamic, a typed and a metadata informer until it is stopped, and reports each of their states.
func runInformers(ctx context.Context, config *rest.Config, _ []string) error {
	makers := map[string]func(*rest.Config) (cache.SharedIndexInformer, error){"dynamic": dynamicInformer, "typed": typedInformer, "metadata": metadataInformer}
	for name, newInformer := range makers {
		counted, sent := counting(config)
		informer, err := newInformer(counted)
		if err != nil {
			return err
		}
		if err := follow(ctx, name, informer, sent); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

func dynamicInformer(config *rest.Config) (cache.SharedIndexInformer, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(v1.TrainingRuns).Informer(), nil
}

func metadataInformer(config *rest.Config) (cache.SharedIndexInformer, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return metadatainformer.NewSharedInformerFactory(client, 0).ForResource(v1.TrainingRuns).Informer(), nil
}

func typedInformer(config *rest.Config) (cache.SharedIndexInformer, error) {
	client, err := newTypedRuns(config)
	if err != nil {
		return nil, err
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformer(source, &v1.TrainingRun{}, 0, cache.Indexers{}), nil
}

// follow starts an informer and reports its state after each change, ten times a second at most.
func follow(ctx context.Context, name string, informer cache.SharedIndexInformer, sent *requests) error {
	var added, updated, deleted, changes atomic.Int64
	count := func(counter *atomic.Int64) {
		counter.Add(1)
		changes.Add(1)
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { count(&added) },
		UpdateFunc: func(any, any) { count(&updated) },
		DeleteFunc: func(any) { count(&deleted) },
	}); err != nil {
		return err
	}
	go informer.Run(ctx.Done())
	go func() {
		for last := int64(-1); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			now := changes.Load()
			if !informer.HasSynced() || now == last {
				continue
			}
			last = now
			items := informer.GetStore().List()
			report(map[string]any{
				"informer": name, "count": len(items), "digest": digest(items), "added": added.Load(), "updated": updated.Load(), "deleted": deleted.Load(),
				"requests": sent.answered(), "types": sent.contentTypes(),
			})
		}
	}()
	return nil
}

// digest tells whether two sets of objects are the same ones at the same resourceVersions.
func digest(objects []any) string {
	lines := make([]string, len(objects))
	for i, object := range objects {
		accessor, err := meta.Accessor(object)
		if err != nil {
			panic(err)
		}
		lines[i] = accessor.GetName() + " " + string(accessor.GetUID()) + " " + accessor.GetResourceVersion() + "\n"
	}
	sort.Strings(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

func listed(list runtime.Object) ([]any, error) {
	items := []any{}
	err := meta.EachListItem(list, func(item runtime.Object) error {
		items = append(items, item)
		return nil
	})
	return items, err
}
