#if os(Linux)
import Glibc

/// Returns the memory that this process uses, in bytes. This is the resident memory. With the address sanitizer it is
/// the allocated memory, because the sanitizer keeps freed memory for a while.
package func memoryInUse() throws -> Int {
    if let count = dlsym(nil, "__sanitizer_get_current_allocated_bytes") {
        return unsafeBitCast(count, to: (@convention(c) () -> Int).self)()
    }
    // The second field is the number of resident pages (proc_pid_statm(5)).
    let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var text = [UInt8](repeating: 0, count: 128)
    let count = read(file, &text, text.count)
    let fields = String(decoding: text.prefix(max(count, 0)), as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else {
        throw ToolFailure(what: "/proc/self/statm", reason: "it has no number of pages")
    }
    return pages * sysconf(Int32(_SC_PAGESIZE))
}
#endif
