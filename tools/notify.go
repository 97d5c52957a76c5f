package tools

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A Notifier sends a notification that belongs to the request in ctx, on that
// request's own stream, such that the response cannot overtake it. mcp-go's own
// way goes through a channel that all requests of a session share, which delays,
// loses and misroutes notifications; so each transport brings one of its own.
type Notifier func(ctx context.Context, method string, params map[string]any) error

type notifierKey struct{}

// WithNotifier gives the calls under ctx their way to notify.
func WithNotifier(ctx context.Context, n Notifier) context.Context {
	return context.WithValue(ctx, notifierKey{}, n)
}

// Notify sends a notification that belongs to the request in ctx, before its response.
func Notify(ctx context.Context, method string, params map[string]any) error {
	if n, ok := ctx.Value(notifierKey{}).(Notifier); ok {
		return n(ctx, method, params)
	}
	return server.ServerFromContext(ctx).SendNotificationToClient(ctx, method, params)
}

// Notification is the message of a [Notifier], ready to be encoded.
func Notification(method string, params map[string]any) mcp.JSONRPCNotification {
	meta, _ := params["_meta"].(map[string]any) // which mcp-go drops from among the fields
	return mcp.JSONRPCNotification{
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: method,
			Params: mcp.NotificationParams{Meta: meta, AdditionalFields: params},
		},
	}
}
