import Testing

@testable import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite("Stamps of files")
struct StampTests {
    private static let numbers = [0, 1, -1, 7, 10, 1_700_000_000, Int.max, Int.min, 999_999_999, -86_400]

    @Test("The text is that of its parts, and reads as what it was made of")
    func text() throws {
        for size in Self.numbers {
            for seconds in Self.numbers {
                var status = stat()
                (status.st_size, status.st_mode) = (.init(size), .init(truncatingIfNeeded: size))
                (status.st_uid, status.st_gid) = (.init(truncatingIfNeeded: seconds), .max)
                let nanoseconds = abs(seconds % 1_000_000_000)
                #if canImport(Darwin)
                (status.st_mtimespec.tv_sec, status.st_mtimespec.tv_nsec) = (seconds, nanoseconds)
                (status.st_ctimespec.tv_sec, status.st_ctimespec.tv_nsec) = (size, seconds)
                #else
                (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) = (seconds, nanoseconds)
                (status.st_ctim.tv_sec, status.st_ctim.tv_nsec) = (size, seconds)
                #endif
                let text = AssetStamp(status).text
                let mode = String(UInt32(status.st_mode) & 0o7777, radix: 8)
                let times = "\(seconds).\(nanoseconds):\(size).\(seconds)"
                #expect(text == "\(size):\(times):\(mode):\(status.st_uid):\(status.st_gid)")
                let read = try #require(FileStamp(text))
                #expect(read.byteCount == Int64(size) && read.attributes == FileAttributes(status))
            }
        }
    }
}
