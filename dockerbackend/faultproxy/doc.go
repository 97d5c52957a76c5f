// Package faultproxy stands between a client and Docker's socket, and fails on
// demand, for tests. It knows Docker's calls by method and path, so that a fault
// can be put on one of them and the rest goes on working; and it can take the
// whole socket away, freeze it, or cut the streams of attached containers.
//
// What may go wrong with one call is a [Fault]; which calls it hits is a [Rule].
// [Proxy.Record] learns which calls an operation makes.
package faultproxy
