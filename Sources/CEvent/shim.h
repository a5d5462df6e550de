#pragma once
// Before libevent's headers, which define _GNU_SOURCE: with that, types of the system would be other
// ones here than in Swift's module of the C library.
#include <sys/time.h>
#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>

// What libevent offers as macros, or through fields that Swift does not see.

static inline struct evkeyval *flotilla_first_header(struct evkeyvalq *headers) {
  return headers->tqh_first;
}

static inline struct evkeyval *flotilla_next_header(struct evkeyval *header) {
  return header->next.tqe_next;
}

/// Whether somebody still reads from or writes to the connection: `bufferevent_free` takes its
/// callbacks away.
static inline int flotilla_is_in_use(struct bufferevent *connection) {
  bufferevent_data_cb read = NULL, write = NULL;
  bufferevent_event_cb event = NULL;
  void *context = NULL;
  bufferevent_getcb(connection, &read, &write, &event, &context);
  return read != NULL || write != NULL || event != NULL;
}
