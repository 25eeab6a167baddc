/* Sums of n ridge functions at N samples, and their gradients: the formulas are in fused.py.

   xi_k   F + k d    direction k, a row of F (n, d)
   t      <xi_k, x>  of V * LANES samples at a time, in V registers; never in memory
   p_k    p + k q    beta_{k,1}, ..., beta_{k,q}; if `relu`, they are c_k and v_k, and q = 2
   w, u              dL/dy and dL/dt = w g_k'(t)

   A block of samples stays in the first cache while all directions pass over it; the last block is
   filled up with x = 0, w = 0. Sums run in REAL over GROUP directions (forward) or over a block
   (backward), and in double beyond. Their order is written out, and is the same if the caller cuts
   the samples (forward) or the directions (backward) into parts. Return 1: no memory. */

#include <stdlib.h>
#include <string.h>

typedef REAL vec __attribute__((vector_size(32)));
typedef __typeof__((vec){0} > (vec){0}) mask;
enum { V = 6, LANES = sizeof(vec) / sizeof(REAL), ROW = 10 * V, BLOCK = ROW * LANES, GROUP = 64 };

#define EACH _Pragma("GCC unroll 6") for (int v = 0; v < V; v++)
#define INLINE static inline __attribute__((always_inline))
static long smaller(long a, long b) { return a < b ? a : b; }
static long filled(long N) { return V * smaller(ROW / V, (N + V * LANES - 1) / (V * LANES)); }

/* The first samples of x (N, d), at most a block, transposed: X (d, BLOCK) */
static void pack(long N, long d, const REAL *x, vec *X) {
  memset(X, 0, sizeof(REAL) * d * BLOCK);
  for (long i = 0; i < smaller(N, BLOCK); i++)
    for (long j = 0; j < d; j++) ((REAL *)X)[j * BLOCK + i] = x[i * d + j];
}

/* t = start + <xi, x> */
INLINE void project(long d, const REAL *xi, REAL start, const vec *X, vec t[V]) {
  EACH t[v] = (vec){0} + start;
  for (long j = 0; j < d; j++) EACH t[v] += xi[j] * X[j * ROW + v];
}

INLINE vec where_positive(vec t, vec kept) { return (vec)((t > (vec){0}) & (mask)kept); }

/* y += v_k relu(t), where t contains c_k */
INLINE void add_relu(const REAL *p, const vec t[V], vec *y) {
  EACH y[v] += p[1] * where_positive(t[v], t[v]);
}

/* y += beta_1 t + ... + beta_q t^q, by Horner */
INLINE void add_polynomial(long q, const REAL *beta, const vec t[V], vec *y) {
  vec h[V];
  EACH h[v] = (vec){0} + beta[q - 1];
  for (long s = q - 1; s > 0; s--) EACH h[v] = h[v] * t[v] + beta[s - 1];
  EACH y[v] += h[v] * t[v];
}

/* u = w v_k 1[t > 0];  dp += (u, w relu(t)) */
INLINE void relu_gradient(const REAL *p, const vec t[V], const vec *w, vec u[V], vec *dp) {
  EACH u[v] = p[1] * where_positive(t[v], w[v]);
  EACH dp[0] += u[v];
  EACH dp[1] += w[v] * where_positive(t[v], t[v]);
}

/* u = w (beta_1 + 2 beta_2 t + ... + q beta_q t^(q-1));  dp += w (t, ..., t^q) */
INLINE void polynomial_gradient(long q, const REAL *beta, const vec t[V], const vec *w, vec u[V],
                                vec *dp) {
  vec power[V], sum;
  EACH power[v] = w[v];
  for (long s = 0; s < q; s++, dp++) {
    sum = *dp;
    EACH sum += power[v] *= t[v];
    *dp = sum;
  }
  EACH u[v] = (vec){0} + q * beta[q - 1];
  for (long s = q - 1; s > 0; s--) EACH u[v] = u[v] * t[v] + s * beta[s - 1];
  EACH u[v] *= w[v];
}

/* y_i = sum_k g_k(t_ik) */
int forward(int relu, long N, long n, long d, long q, const REAL *x, const REAL *F, const REAL *p,
            REAL *y) {
  vec t[V], *X = aligned_alloc(sizeof(vec), sizeof(REAL) * d * BLOCK);
  if (!X) return 1;
  for (; N > 0; N -= BLOCK, x += BLOCK * d, y += BLOCK) {
    double total[BLOCK] = {0};
    pack(N, d, x, X);
    for (long k = 0; k < n;) {
      vec sum[ROW] = {{0}};
      for (long last = smaller(n, k + GROUP); k < last; k++)
        for (long a = 0; a < filled(N); a += V) {
          project(d, F + k * d, relu ? p[k * q] : 0, X + a, t);
          if (relu) add_relu(p + k * q, t, sum + a);
          else add_polynomial(q, p + k * q, t, sum + a);
        }
      for (long i = 0; i < BLOCK; i++) total[i] += ((REAL *)sum)[i];
    }
    for (long i = 0; i < smaller(N, BLOCK); i++) y[i] = total[i];
  }
  return free(X), 0;
}

/* dF_k += sum_i u_ik x_i, and dp_k as above */
int backward(int relu, long N, long n, long d, long q, const REAL *x, const REAL *F, const REAL *p,
             const REAL *w, double *dF, double *dp) {
  vec t[V], u[V], W[ROW], *X = aligned_alloc(sizeof(vec), sizeof(REAL) * d * BLOCK);
  vec z, *sum = aligned_alloc(sizeof(vec), sizeof(vec) * (d + q)); /* for dF_k, then for dp_k */
  for (; X && sum && N > 0; N -= BLOCK, x += BLOCK * d, w += BLOCK) {
    pack(N, d, x, X), pack(N, 1, w, W);
    for (long k = 0; k < n; k++) {
      memset(sum, 0, sizeof(vec) * (d + q));
      for (long a = 0; a < filled(N); a += V) {
        project(d, F + k * d, relu ? p[k * q] : 0, X + a, t);
        if (relu) relu_gradient(p + k * q, t, W + a, u, sum + d);
        else polynomial_gradient(q, p + k * q, t, W + a, u, sum + d);
        for (long j = 0; j < d; j++) {
          z = sum[j];
          EACH z += u[v] * X[j * ROW + a + v];
          sum[j] = z;
        }
      }
      for (long j = 0; j < d; j++) for (int l = 0; l < LANES; l++) dF[k * d + j] += sum[j][l];
      for (long s = 0; s < q; s++) for (int l = 0; l < LANES; l++) dp[k * q + s] += sum[d + s][l];
    }
  }
  return free(X), free(sum), N > 0;
}
