import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The files that every tool copies, all of one size.
package struct Workload: Codable, Equatable, Sendable {
    package var files: Int
    package var bytesPerFile: Int64

    package init(files: Int, bytesPerFile: Int64) {
        self.files = files
        self.bytesPerFile = bytesPerFile
    }

    package var bytes: Int64 { Int64(files) * bytesPerFile }

    /// The names of the files, in one flat folder.
    package var names: [String] { (0..<files).map { "file-\($0).bin" } }

    /// Fills a folder with random bytes, which cannot be compressed, and waits until the disk has them.
    ///
    /// - Parameter goesOn: is called before each MiB. An error stops the work.
    package func make(in folder: String, while goesOn: () throws -> Void) throws {
        let source = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/urandom"))
        defer { source.closeFile() }
        for name in names {
            let path = "\(folder)/\(name)"
            guard FileManager.default.createFile(atPath: path, contents: nil) else {
                throw BenchError("\(path) cannot be made: \(String(cString: strerror(errno))).")
            }
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            defer { file.closeFile() }
            var rest = bytesPerFile
            while rest > 0 {
                try goesOn()
                let block = try source.read(upToCount: Int(min(rest, 1 << 20))) ?? Data()
                guard !block.isEmpty else { throw BenchError("/dev/urandom gives no bytes.") }
                try file.write(contentsOf: block)
                rest -= Int64(block.count)
            }
        }
        Disk.settle()
    }
}
