#ifndef SB_BASE_VERSION_H
#define SB_BASE_VERSION_H
#define SB_VERSION "0.1.0"
#endif
