package main

import (
	"context"
	"encoding/json"
	"os"
	"sort"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	v1 "clients/api/v1"
)

// discover reads what is served, caches it in memory and on disk, and maps kinds and short names by it.
func discover(_ context.Context, config *rest.Config, _ []string) error {
	counted, sent := counting(config)
	client, err := discovery.NewDiscoveryClientForConfig(counted)
	if err != nil {
		return err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	report(map[string]any{"what": "version", "gitVersion": version.GitVersion})
	cached := memory.NewMemCacheClient(client)
	if err := reportPreferred(cached); err != nil {
		return err
	}
	before := sent.total()
	if err := reportMappings(cached); err != nil {
		return err
	}
	report(map[string]any{"what": "cached", "first": before, "later": sent.total() - before})
	if err := reportDiskCache(config); err != nil {
		return err
	}
	return reportOpenAPI(client)
}

func reportPreferred(client discovery.DiscoveryInterface) error {
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return err
	}
	resources := []string{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			resources = append(resources, list.GroupVersion+" "+resource.Name)
		}
	}
	sort.Strings(resources)
	report(map[string]any{"what": "preferred", "resources": resources})
	return nil
}

func reportMappings(cached discovery.CachedDiscoveryInterface) error {
	deferred := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	mapper := restmapper.NewShortcutExpander(deferred, cached, nil)
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: v1.GroupVersion.Group, Kind: "TrainingRun"})
	if err != nil {
		return err
	}
	short, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "tr"})
	if err != nil {
		return err
	}
	old, err := mapper.KindFor(schema.GroupVersionResource{Group: v1.GroupVersion.Group, Version: "v1alpha1", Resource: "trainingrun"})
	if err != nil {
		return err
	}
	category, _ := restmapper.NewDiscoveryCategoryExpander(cached).Expand("ml")
	members := []string{}
	for _, member := range category {
		members = append(members, member.String())
	}
	sort.Strings(members)
	_, err = mapper.RESTMapping(schema.GroupKind{Group: v1.GroupVersion.Group, Kind: "Nothing"})
	report(map[string]any{
		"what": "mapping", "resource": mapping.Resource.String(), "scope": mapping.Scope.Name(), "short": short.String(), "old": old.String(), "category": members, "unknown": err.Error(),
	})
	return nil
}

func reportDiskCache(config *rest.Config) error {
	directory, err := os.MkdirTemp("", "clients-discovery-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	totals := []int{}
	for range 2 {
		counted, sent := counting(config)
		client, err := disk.NewCachedDiscoveryClientForConfig(counted, directory, "", time.Hour)
		if err != nil {
			return err
		}
		if _, _, err := client.ServerGroupsAndResources(); err != nil {
			return err
		}
		totals = append(totals, sent.total())
	}
	report(map[string]any{"what": "disk", "first": totals[0], "second": totals[1]})
	return nil
}

func reportOpenAPI(client discovery.DiscoveryInterface) error {
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	bytes, err := paths["apis/"+v1.GroupVersion.String()].Schema("application/json")
	if err != nil {
		return err
	}
	var document struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(bytes, &document); err != nil {
		return err
	}
	_, found := document.Components.Schemas["com.example.ml.v1.TrainingRun"]
	same, err := sameInProtobuf(client)
	if err != nil {
		return err
	}
	report(map[string]any{"what": "openapi", "found": found, "same": same})
	return nil
}
