import Foundation

/// Makes small pictures with libvips, in processes of their own: nothing of a stranger's file is decoded in this one.
///
/// Each process has 20 seconds, 10 seconds of the processor and a gigabyte of memory, reads its standard input, writes
/// into the folder that it is started in, and is first asked how large the picture is. Loaders that libvips itself does
/// not trust are off (https://www.libvips.org/API/current/func.block_untrusted_set.html).
struct ThumbnailTool: Sendable {
    /// How many pixels a picture may have.
    static let maxPixels = 100_000_000

    private let limits: [String]
    private let header: String
    private let thumbnail: String

    /// - Parameters:
    ///   - folder: where the programs of libvips are.
    ///   - seconds: how long each process may take. It has half of that of the processor.
    /// - Returns: nil when something of it is not installed.
    init?(in folder: String = "/usr/bin", seconds: Int = 20) {
        (header, thumbnail) = (folder + "/vipsheader", folder + "/vipsthumbnail")
        let needed = [header, thumbnail, "/usr/bin/timeout", "/usr/bin/prlimit"]
        guard needed.allSatisfy(FileManager.default.isExecutableFile) else { return nil }
        limits = [
            "--kill-after=2", "\(seconds)", "/usr/bin/prlimit", "--as=1073741824", "--cpu=\(max(seconds / 2, 1))",
            "--fsize=\(Self.maxByteCount)", "--core=0",
        ]
    }

    /// Makes the small picture of a file, in a folder, under a name that is not there yet.
    ///
    /// - Parameter edge: the longer one of the small picture, in pixels.
    /// - Throws: ``ThumbnailError``.
    func make(of source: URL, as name: String, edge: Int, in folder: URL) async throws {
        let header = try await run([self.header, "stdin"], input: source, in: folder)
        guard header.status == 0, let pixels = Self.pixels(header.output) else { throw ThumbnailError.unreadable }
        guard pixels <= Self.maxPixels else { throw ThumbnailError.tooLarge }
        let result = try await run(
            [thumbnail, "stdin", "--size", "\(edge)x\(edge)>", "-o", "\(name)[Q=75,strip]"],
            input: source, in: folder)
        guard result.status == 0 else { throw ThumbnailError.unreadable }
    }

    /// The number of pixels in a line such as `320x200 uchar, 3 bands, srgb, pngload_source`.
    static func pixels(_ line: String) -> Int? {
        for word in line.split(separator: " ").prefix(2) {
            let sides = word.split(separator: "x", omittingEmptySubsequences: false).map { Int32($0) }
            if sides.count == 2, let width = sides[0], let height = sides[1], width > 0, height > 0 {
                return Int(width) * Int(height)
            }
        }
        return nil
    }

    private func run(
        _ command: [String], input: URL, in folder: URL
    ) async throws -> (status: Int32, output: String) {
        let (process, output) = (Process(), Pipe())
        let source = try FileHandle(forReadingFrom: input)
        defer { try? source.close() }
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = limits + command
        process.currentDirectoryURL = folder
        process.environment = ["PATH": "/usr/bin:/bin", "VIPS_BLOCK_UNTRUSTED": "1", "VIPS_CONCURRENCY": "1"]
        process.standardInput = source
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in ended.finish() }
        try process.run()
        // Whoever has asked may have gone: `timeout` ends the other one with itself.
        await withTaskCancellationHandler {
            for await _ in ends {}
        } onCancel: { [pid = process.processIdentifier] in
            kill(pid, SIGTERM)
        }
        process.waitUntilExit()
        try Task.checkCancellation()
        // One short line, which the pipe holds without anybody reading.
        let text = output.fileHandleForReading.readData(ofLength: 4_096)
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }
}

/// Why there is no small picture.
enum ThumbnailError: Error {
    /// The tool cannot read the file, or it has taken too long.
    case unreadable
    /// The picture has too many pixels.
    case tooLarge
}
