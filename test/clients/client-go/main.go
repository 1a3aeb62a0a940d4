// Command client-go does against a server what programs made with client-go do, and says as JSON lines what came of it.
//
//	client-go KUBECONFIG SCENARIO [ARGUMENT...]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// A scenario reports what it saw; an error is what it did not expect.
type scenario func(ctx context.Context, config *rest.Config, args []string) error

var scenarios = map[string]scenario{
	"apply":     applyByTwo,
	"bookmarks": awaitBookmark,
	"core":      coreKinds,
	"discovery": discover,
	"events":    recordEvents,
	"informers": runInformers,
	"pages":     readPages,
	"populate":  populate,
	"scale":     scaleThrough,
	"typed":     typedClient,
	"warnings":  hearWarnings,
}

func main() {
	klog.LogToStderr(true)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 || scenarios[args[1]] == nil {
		return fmt.Errorf("usage: client-go KUBECONFIG SCENARIO [ARGUMENT...]")
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 2000, 4000
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return scenarios[args[1]](ctx, config, args[2:])
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
