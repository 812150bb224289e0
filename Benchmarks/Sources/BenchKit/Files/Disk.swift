#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

enum Disk {
    /// Waits until all written data is on the disk.
    static func settle() { sync() }
}
