#pragma once
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// What OpenSSL offers as macros, which Swift does not see.

/// TLS 1.3 and nothing else.
static inline int flotilla_ssl_only_tls13(SSL_CTX *context) {
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION)
      && SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
}

static inline int flotilla_ssl_set_groups(SSL_CTX *context, const char *list) {
  return (int)SSL_CTX_set1_groups_list(context, list);
}

static inline int flotilla_ssl_set_signature_algorithms(SSL_CTX *context, const char *list) {
  return (int)SSL_CTX_set1_sigalgs_list(context, list);
}

static inline void flotilla_ssl_set_limits(SSL_CTX *context, long certificates) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, certificates);
  // Nothing between two machines of a LAN needs to take this for TLS 1.2.
  SSL_CTX_clear_options(context, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION
                                   | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // Buffers of idle connections are given back.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

static inline void flotilla_ssl_set_owner(SSL_CTX *context, void *owner) {
  SSL_CTX_set_app_data(context, owner);
}

static inline void *flotilla_ssl_owner(const SSL *connection) {
  return SSL_CTX_get_app_data(SSL_get_SSL_CTX(connection));
}

static inline size_t flotilla_bio_pending(BIO *bio) { return BIO_ctrl_pending(bio); }

static inline int flotilla_error_is(unsigned long error, int reason) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == reason;
}

/// The number of the alert that the peer has sent, if that was the error; else -1.
static inline int flotilla_alert(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return -1;
  int reason = ERR_GET_REASON(error);
  return reason > SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : -1;
}

/// The key on P-256 whose secret number is made of these random bytes: at least 40 of them, so that
/// each number is as likely as any other (FIPS 186-5, A.2.1). NULL if there is no memory.
///
/// OpenSSL 3 has nothing else yet that computes the public key of a number.
static inline EVP_PKEY *flotilla_p256_key(const unsigned char *bytes, size_t length) {
  EC_KEY *pair = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  BIGNUM *number = BN_bin2bn(bytes, (int)length, NULL);
  BIGNUM *range = pair ? BN_dup(EC_GROUP_get0_order(EC_KEY_get0_group(pair))) : NULL;
  BN_CTX *context = BN_CTX_new();
  EC_POINT *point = pair ? EC_POINT_new(EC_KEY_get0_group(pair)) : NULL;
  EVP_PKEY *key = EVP_PKEY_new();
  int isMade = pair && number && range && context && point && key && BN_sub_word(range, 1)
      && BN_nnmod(number, number, range, context) && BN_add_word(number, 1)
      && EC_POINT_mul(EC_KEY_get0_group(pair), point, number, NULL, NULL, context)
      && EC_KEY_set_private_key(pair, number) && EC_KEY_set_public_key(pair, point)
      && EVP_PKEY_set1_EC_KEY(key, pair);
  if (!isMade) {
    EVP_PKEY_free(key);
    key = NULL;
  }
  EC_POINT_free(point);
  BN_CTX_free(context);
  BN_free(range);
  BN_clear_free(number);
  EC_KEY_free(pair);
  return key;
}
