/* pci_address.h: where a device is on the PCI buses of this machine. Drivers and libraries number
 * the devices in different orders; the address is the same for all. */
#ifndef TINCA_BASE_HOST_PCI_ADDRESS_H
#define TINCA_BASE_HOST_PCI_ADDRESS_H

#include <stdbool.h>

struct pci_address { /* {0} is unknown */
    bool known;
    unsigned domain, bus, device;
};

/* Returns whether both addresses are known and equal. */
static inline bool pci_address_equals(const struct pci_address *a, const struct pci_address *b)
{
    return a->known && b->known && a->domain == b->domain && a->bus == b->bus &&
           a->device == b->device;
}

#endif
