#pragma once
// Before libevent's headers, which define _GNU_SOURCE: with that, types of the system would be other
// ones here than in Swift's module of the C library.
#include <sys/time.h>
#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

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

/// How many bytes among the last `count` of a buffer are NUL.
static inline size_t flotilla_count_nul(struct evbuffer *buffer, size_t count) {
  size_t length = evbuffer_get_length(buffer), found = 0;
  if (count > length) count = length;
  struct evbuffer_ptr at;
  if (evbuffer_ptr_set(buffer, &at, length - count, EVBUFFER_PTR_SET) != 0) return 0;
  while (count > 0) {
    struct evbuffer_iovec part;
    if (evbuffer_peek(buffer, (ev_ssize_t)count, &at, &part, 1) < 1) break;
    size_t size = part.iov_len < count ? part.iov_len : count;
    const char *bytes = (const char *)part.iov_base;
    for (size_t i = 0; i < size; i++) found += bytes[i] == 0;
    count -= size;
    if (count == 0 || evbuffer_ptr_set(buffer, &at, size, EVBUFFER_PTR_ADD) != 0) break;
  }
  return found;
}

/// What serves TLS 1.2 and 1.3 with a certificate and its key on P-256, both DER; NULL if one of
/// them is damaged or they do not fit.
static inline SSL_CTX *flotilla_tls_new(
    const unsigned char *certificate, int length, const unsigned char *key, long keyLength) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  if (!context) return NULL;
  int isReady = SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION)
      && SSL_CTX_use_certificate_ASN1(context, length, certificate) == 1
      && SSL_CTX_use_PrivateKey_ASN1(EVP_PKEY_EC, context, key, keyLength) == 1
      && SSL_CTX_check_private_key(context) == 1;
  if (!isReady) {
    SSL_CTX_free(context);
    return NULL;
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET
                                   | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Buffers of idle connections are given back.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

static inline void flotilla_tls_free(SSL_CTX *context) { SSL_CTX_free(context); }

/// A connection that begins with the handshake of a client; its socket comes later.
static inline struct bufferevent *flotilla_tls_connection(struct event_base *base, SSL_CTX *context) {
  SSL *tls = SSL_new(context);
  if (!tls) return NULL;
  struct bufferevent *made = bufferevent_openssl_socket_new(
      base, -1, tls, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
  // Who hangs up without the last words of TLS has hung up.
  if (made) bufferevent_openssl_set_allow_dirty_shutdown(made, 1);
  else SSL_free(tls);
  return made;
}

static inline int flotilla_is_tls(struct bufferevent *connection) {
  return bufferevent_openssl_get_ssl(connection) != NULL;
}
