#if !canImport(Darwin)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Calls of Linux that Swift's modules of the C library leave out. nil where the library has none.
enum LinuxCalls {
    /// The last argument is a set of flags: renameat2(2).
    static let renameat2 = function(
        "renameat2",
        (@convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32).self)

    /// Descriptor, start, length, flags: sync_file_range(2).
    static let syncFileRange = function(
        "sync_file_range", (@convention(c) (Int32, Int64, Int64, UInt32) -> Int32).self)

    /// At most 15 bytes: pthread_setname_np(3).
    static let setThreadName = function(
        "pthread_setname_np", (@convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32).self)

    /// Operation and its arguments: prctl(2).
    static let prctl = function("prctl", (@convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32).self)

    private static func function<Function>(_ name: String, _ type: Function.Type) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: type) }
    }
}
#endif
