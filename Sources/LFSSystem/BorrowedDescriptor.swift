#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Calls on a descriptor that stays its caller's: nothing here rewinds or closes it.
package enum BorrowedDescriptor {
    /// Reads at its current position; 0 at the end.
    package static func read(_ number: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        try checked("read", "descriptor \(number)") { systemRead(number, buffer.baseAddress, buffer.count) }
    }

    package static func status(_ number: Int32) -> FileStatus? {
        var raw = stat()
        return fstat(number, &raw) == 0 ? FileStatus(raw) : nil
    }

    private static func systemRead(_ number: Int32, _ start: UnsafeMutableRawPointer?, _ count: Int) -> Int {
        #if canImport(Glibc)
        Glibc.read(number, start, count)
        #elseif canImport(Musl)
        Musl.read(number, start, count)
        #else
        Darwin.read(number, start, count)
        #endif
    }
}
