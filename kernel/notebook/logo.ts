/** The kernel's logo: two GPUs and the link between them. JupyterLab shows the drawing, older front ends the pictures of it. */
export const LOGO_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="12" fill="#0072B2"/><rect x="9" y="24" width="17" height="17" rx="3" fill="#fff"/><rect x="38" y="24" width="17" height="17" rx="3" fill="#fff"/><path d="M26 29h12M38 36H26" stroke="#E69F00" stroke-width="3.5"/></svg>
`;

/** The drawing as PNG, by its side in pixels. */
export const LOGO_PNG: Readonly<Record<32 | 64, string>> = {
  32:
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAABxUlEQVR4nOyXP0gCURzHv3deWFFUQwUlSBHYGBFUS4OQBZE4BFEQUURTg9og1F" +
    "DtiY3REER/JoM0AqutKcEiqEGXQLBAG0qUSlJf77TAutMw5N7iZzju/X7vfb9f3g33noBczO4pcMQEDn0A14KSQh5BcAnCHWHDuPtd5TLPxRMt" +
    "0qktOjJACQjOwKvmYR8J8plCOrmvmLmI6EVSe9lXy/EM3fZtsIBwszy49DhYQb15mqILrKDeAv0IzWAF9ebBmHKAcgDhd0FTVwnndA96tQ2Syb" +
    "FEEiueABwX97JiloF2rA3rUKuWyMIbfMbYjg+h6HvhAHN9WllzEVHYpu+A98ol27fpDbLmIqKmqL16Gigc4C+aa9Vwti/n6S2hWIoOIGKPTMjW" +
    "11E8/wsQZhzgsC3fVo9CkQD9NXcoFZIA/nCs4IJAJI7OW7dsz097uqaavGvltDlY3SS3UF2hwmR3KzT1VZLJiWQK54En+EJRyNGjqcOgrhFqQS" +
    "XphV7ecHD9gNePVOEASlP+F5QD0EMpwmAF9abHcnIDVlBvGoDfBCuod/ZuaHV56GgISkLggsNo4r+SmGkhAaUgJI6ksJCx/tFgcD3/BAAA//+d" +
    "Mvz6AAAABklEQVQDAP2Dh317awPAAAAAAElFTkSuQmCC",
  64:
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAYAAACqaXHeAAADDklEQVR4nOybTUhUURTH/+fNyBiMuaoJbVObPmxREZSbwKCgj3HMNlq4laBAm6" +
    "RAWtimKPCrXbuoqFXWUyOziAhCaBFCYRqEboqRIDJdWM54O3emYvCr9xx5jO/c3zBw5r5zue/8373v3HuHG8RSXHxWjJnpGJSqBtRWEEoAKkJe" +
    "oyb5Hj+zMYxZdCG0phvXDk4s5k0LljbYEQSoma16/hZidTPND/Ami3EVnbHxuRfnC9BoHwXRPb6yFn5C4QdI1aEt1p1dbGV5EOJ2Cwff47vgNT" +
    "omRY9wzr6UjvUPgX8OjbtPcfA32JHgV3RsRAdQ/nEMA/cHM0WauF3BZj9bQUhAqRn+HkFH1fPMEFDUACnBa4gKQNbZtImmrvVIBRO+7voLofgT" +
    "DJRYSBVUiwteo2NOzlZxt1c1kArNVlmcG3dCLvssfgGu9pne8uHYgzwSQpAKx25BOEYACMcIAOEYASAcIwCEYwSAcBztAm0oCuH6se04tGUdIk" +
    "XOlw7jkz/RP/IVF3qHkGDbDV616UiA9lgZanaVwi36xuv2bERBgFB7962rul616UiAw9siyIXl1PeqTUcCFBfmtl+q6z/Y1OyyThS54PSePdsJ" +
    "Lg+/Rz5isgA8YmBqhyv/aniDZwKcGL3iyl/BG8xMEMLxbAi4TYNAbmnQKSYNQjgmDTpxmphO5jQd1vXdpsHvK9CmExwNgScfxpELy6nvVZsBlN" +
    "e2/M/p9eg3RMKh9Bo9HHL+VPTa/OG7BJp6hjD1KwU3eNUmId7t1aQrLzEzQQjHCADhGAEgHCMAhGMEgHAs3n1096edr1ATFq8GEpCKQkL3gEGI" +
    "hYZ1D3gJsVAfC0B9kIpKsgCt0WG2nkIaCjY6jo9l0mAKDaKyQTpWOqPNjACdsRF+F5yGFIjq0R7Vx2uzJkJtlbdYmsvwPRxjW/T231/zD0vF7U" +
    "oouuPLo7NKnURH7HF28fypsD5bmwyWsdUL/9CbjmlO8Jqlj8udt/dDWRWs3F6WcDOXlPL4CSOfUWqKo/rCvfgTSL1h+wVaY68Wc/8NAAD//1+b" +
    "vWQAAAAGSURBVAMAsh7xEXC2kwsAAAAASUVORK5CYII=",
};
