package main

import (
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// requests counts what a client sends, by what it is.
type requests struct {
	mutex  sync.Mutex
	counts map[string]int
	types  map[string]int
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// counting returns a copy of the configuration whose clients are counted.
func counting(config *rest.Config) (*rest.Config, *requests) {
	seen := &requests{counts: map[string]int{}, types: map[string]int{}}
	counted := rest.CopyConfig(config)
	counted.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := inner.RoundTrip(request)
			if err == nil {
				seen.add(verb(request), response.Header.Get("Content-Type"))
			}
			return response, err
		})
	})
	return counted, seen
}

func verb(request *http.Request) string {
	query := request.URL.Query()
	switch {
	case request.Method != http.MethodGet:
		return request.Method
	case query.Get("watch") == "true" && query.Get("sendInitialEvents") == "true":
		return "watch-list"
	case query.Get("watch") == "true":
		return "watch"
	default:
		return "get"
	}
}

func (r *requests) add(verb, contentType string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.counts[verb]++
	r.types[contentType]++
}

// answered returns how many requests of a kind were answered.
func (r *requests) answered() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return copyOf(r.counts)
}

// contentTypes returns how many answers were of a type.
func (r *requests) contentTypes() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return copyOf(r.types)
}

func (r *requests) total() int {
	sum := 0
	for _, count := range r.answered() {
		sum += count
	}
	return sum
}

func copyOf(counts map[string]int) map[string]int {
	result := map[string]int{}
	for key, count := range counts {
		result[key] = count
	}
	return result
}
