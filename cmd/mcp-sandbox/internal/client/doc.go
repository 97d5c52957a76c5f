// Package client is the command line's side of /v1: one method for each call
// that the command line makes, with requests and results from package schemas.
//
// What the server refuses is an [*Error] with what it said. So is what comes of
// a server that cannot be reached or breaks off, so that there is one kind of
// failure to show. No call is made twice.
package client
