import Testing

@testable import LFSBackup

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

@Suite("File stamps")
struct StampTests {
    private static let numbers = [0, 1, -1, 7, 10, 1_700_000_000, Int.max, Int.min, 999_999_999, -86_400]

    @Test("The text of a stamp contains its parts and is parsed back into them")
    func text() throws {
        for size in Self.numbers {
            for seconds in Self.numbers {
                var status = stat()
                status.st_size = .init(size)
                status.st_mode = .init(truncatingIfNeeded: size)
                status.st_uid = .init(truncatingIfNeeded: seconds)
                status.st_gid = .max
                let nanoseconds = abs(seconds % 1_000_000_000)
                #if canImport(Darwin)
                status.st_mtimespec.tv_sec = seconds
                status.st_mtimespec.tv_nsec = nanoseconds
                status.st_ctimespec.tv_sec = size
                status.st_ctimespec.tv_nsec = seconds
                #else
                status.st_mtim.tv_sec = seconds
                status.st_mtim.tv_nsec = nanoseconds
                status.st_ctim.tv_sec = size
                status.st_ctim.tv_nsec = seconds
                #endif
                let text = AssetVersion(status).text
                let mode = String(UInt32(status.st_mode) & 0o7777, radix: 8)
                let times = "\(seconds).\(nanoseconds):\(size).\(seconds)"
                #expect(text == "\(size):\(times):\(mode):\(status.st_uid):\(status.st_gid)")
                let read = try #require(FileStamp(text))
                #expect(read.byteCount == Int64(size) && read.attributes == FileAttributes(status))
            }
        }
    }
}
