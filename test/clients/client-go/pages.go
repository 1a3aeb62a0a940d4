package main

import (
	"bufio"
	"context"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
)

// readPages lists in pages of 300; after the first it says so and waits for a line.
func readPages(ctx context.Context, config *rest.Config, _ []string) error {
	runs, err := dynamicRuns(config)
	if err != nil {
		return err
	}
	pages, remaining, expired := 0, []int64{}, 0
	read := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		list, err := runs.List(ctx, options)
		if apierrors.IsResourceExpired(err) {
			expired++
		}
		if err != nil {
			return nil, err
		}
		pages++
		if left := list.GetRemainingItemCount(); left != nil {
			remaining = append(remaining, *left)
		}
		if pages == 1 {
			report(map[string]any{"what": "first"})
			bufio.NewScanner(os.Stdin).Scan()
		}
		return list, nil
	}
	reader := pager.New(read)
	reader.PageSize, reader.PageBufferSize = 300, 0
	list, paginated, err := reader.ListWithAlloc(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	items, err := listed(list)
	if err != nil {
		return err
	}
	report(map[string]any{"what": "all", "pages": pages, "remaining": remaining, "paginated": paginated, "expired": expired, "count": len(items), "digest": digest(items)})
	return nil
}
