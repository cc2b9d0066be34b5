//! Components whose size is a parameter: so many memories, tables or instances of such a size.
//! Each exports `nop`, so that reaching it proves that the instance was admitted.
