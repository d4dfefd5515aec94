"""The tree of Kenny et al. 2020: its size, and the hosts on which the authors ran two applications.

"An Evaluation of Ethernet Performance for Scientific Workloads", section IV: 96 hosts on eight leaves of twelve, each
leaf with four uplinks. The host numbers of ranks 0 to 47 come from the paper's data, the repository
jpkenny/ethernet-performance-data (commit de97697): benchmarks/halo3d/hosts-halo-random.txt and
benchmarks/fft/hosts-subcom-random.txt.
"""

from __future__ import annotations

from collections.abc import Mapping

PER_LEAF, NODES = 12, 96
TAPER = 3.0
_FIRST = 193  # number of the first host
_HALO3D = (
    "254 266 235 277 226 260 275 244 207 281 268 203 262 214 247 253 288 250 231 271 278 200 221 196 "
    "251 199 215 274 283 213 195 256 261 212 198 284 225 220 219 233 273 282 259 228 242 240 229 248"
)
_FFT = (
    "255 243 211 204 286 249 258 279 245 217 285 272 205 201 270 234 241 287 218 239 263 237 206 227 "
    "265 202 246 238 208 216 236 257 197 264 210 223 267 224 209 230 276 193 232 222 280 194 252 269"
)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


# application → number of the host of each rank
HOSTS: Mapping[str, tuple[int, ...]] = {"halo3d": _numbers(_HALO3D), "fft": _numbers(_FFT)}


def place(number: int) -> int:
    """Return the place of a host, by its number in the paper's data, among the hosts of the tree, leaf after leaf.

    Hosts of odd and of even numbers alternate between two leaves: the file of two hosts within a leaf names 193 and
    195. That 24 numbers in a row are on two leaves is an assumption; neither the paper nor its data say so.

    Examples
    --------
    >>> [place(number) // PER_LEAF for number in (193, 194, 195, 216, 217, 288)]
    [0, 1, 0, 1, 2, 7]
    """
    k = number - _FIRST
    return (2 * (k // 24) + k % 2) * PER_LEAF + k % 24 // 2
