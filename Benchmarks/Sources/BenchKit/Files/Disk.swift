#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

enum Disk {
    /// Waits until everything that was written is on the disk.
    static func settle() { sync() }
}
