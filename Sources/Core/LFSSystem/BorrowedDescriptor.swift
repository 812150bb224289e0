#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls on a descriptor that the caller owns. They neither rewind nor close it.
package enum BorrowedDescriptor {
    /// Reads at the current position. Returns 0 at the end.
    package static func read(_ number: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try checked("read", "descriptor \(number)") {
            systemRead(number, start: buffer.baseAddress, count: buffer.count)
        }
    }

    /// Returns whether a read would not block, or would end, within the time. True at the end of a pipe and for files.
    package static func waitUntilReadable(_ number: Int32, milliseconds: Int32) throws(SystemError) -> Bool {
        var request = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return try checked("poll", "descriptor \(number)") { poll(&request, 1, milliseconds) } > 0
    }

    package static func status(_ number: Int32) -> FileStatus? {
        var raw = stat()
        return fstat(number, &raw) == 0 ? FileStatus(raw) : nil
    }

    private static func systemRead(_ number: Int32, start: UnsafeMutableRawPointer?, count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.read(number, start, count)
        #elseif canImport(Musl)
        Musl.read(number, start, count)
        #else
        Darwin.read(number, start, count)
        #endif
    }
}
