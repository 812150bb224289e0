import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The inotify queue of the kernel. Linux only. On other systems, it cannot be created.
final class Inotify: Sendable {
    private let descriptor: Descriptor
    private static let bufferCount = 64 << 10

    /// - Throws: `ENOSYS` if the system has no inotify, `EMFILE` if the user has too many queues.
    init() throws(SystemError) {
        #if os(Linux)
        let number = try checked("inotify_init1", "inotify") { inotify_init1(Int32(O_CLOEXEC | O_NONBLOCK)) }
        descriptor = Descriptor(owning: number, path: "inotify")
        #else
        throw SystemError(call: "inotify_init1", path: "inotify", errno: ENOSYS)
        #endif
    }

    /// The descriptor, for waiting until there is something to read.
    var number: Int32 { descriptor.raw }

    /// Watches a folder. A folder that is already watched keeps its number, whatever the path.
    ///
    /// - Throws: `ENOSPC` if the user may not watch more folders.
    func add(_ path: AssetName, followsLink: Bool) throws(SystemError) -> Int32 {
        #if os(Linux)
        let flags = UInt32(IN_ONLYDIR) | (followsLink ? 0 : UInt32(IN_DONT_FOLLOW))
        let mask = InotifyEvent.Kind.wanted.rawValue | flags
        return try checked("inotify_add_watch", path.description) {
            path.withCString { inotify_add_watch(number, $0, mask) }
        }
        #else
        throw SystemError(call: "inotify_add_watch", path: path.description, errno: ENOSYS)
        #endif
    }

    /// Stops watching a folder. Ignores folders that are no longer watched.
    func remove(_ folder: Int32) {
        #if os(Linux)
        _ = inotify_rm_watch(number, folder)
        #endif
    }

    /// Reads pending events, at most one buffer. Empty if none are pending.
    func read() throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.bufferCount)
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in try descriptor.read(into: buffer) }
        }
        if case .failure(let error) = result, error.errno == EAGAIN { return [] }
        let count = try result.get()
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
