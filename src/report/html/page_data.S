// SPDX-License-Identifier: Apache-2.0
// The page as built in web/, byte for byte: string literals of this length are not portable, and
// an array of them takes the compiler longer than the rest of the room.
        .section .rodata
        .global hone_page_begin
        .global hone_page_end
hone_page_begin:
        .incbin HONE_PAGE
hone_page_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
