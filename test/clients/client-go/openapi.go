package main

import (
	"context"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"
)

// sameInProtobuf tells whether the OpenAPI v2 document says in protobuf what it says in JSON.
func sameInProtobuf(client discovery.DiscoveryInterface) (bool, error) {
	binary, err := client.OpenAPISchema()
	if err != nil {
		return false, err
	}
	text, err := client.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").Do(context.Background()).Raw()
	if err != nil {
		return false, err
	}
	document, err := openapi_v2.ParseDocument(text)
	if err != nil {
		return false, err
	}
	for _, message := range []proto.Message{binary, document} {
		if err := sortValues(message.ProtoReflect()); err != nil {
			return false, err
		}
	}
	return proto.Equal(binary, document), nil
}

// sortValues rewrites the values that are texts of YAML, so that the order of their keys does not count.
func sortValues(message protoreflect.Message) (err error) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Kind() == protoreflect.MessageKind && field.IsList():
			for i := 0; i < value.List().Len() && err == nil; i++ {
				err = sortValues(value.List().Get(i).Message())
			}
		case field.Kind() == protoreflect.MessageKind:
			err = sortValues(value.Message())
		case message.Descriptor().Name() == "Any" && field.Name() == "yaml":
			var sorted []byte
			sorted, err = yaml.YAMLToJSON([]byte(value.String()))
			message.Set(field, protoreflect.ValueOfString(string(sorted)))
		}
		return err == nil
	})
	return err
}
