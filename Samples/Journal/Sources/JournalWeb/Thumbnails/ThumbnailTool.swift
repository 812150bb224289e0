import Foundation

/// A tool that creates thumbnails with libvips in separate processes, so that this process never decodes untrusted
/// files.
///
/// Each process is limited to 20 seconds, 10 seconds of processor time and one gigabyte of memory. It reads its
/// standard input and writes into its working folder. The dimensions of the picture are checked first. Loaders that
/// libvips itself does not trust are disabled (https://www.libvips.org/API/current/func.block_untrusted_set.html).
struct ThumbnailTool: Sendable {
    /// The maximum number of pixels of a picture.
    static let maxPixels = 100_000_000

    private let limits: [String]
    private let header: String
    private let thumbnail: String

    /// - Parameters:
    ///   - folder: The folder of the programs of libvips.
    ///   - seconds: The maximum duration of each process. Its processor time is limited to half of that.
    /// - Returns: The tool, or nil if a program is not installed.
    init?(in folder: String = "/usr/bin", seconds: Int = 20) {
        header = folder + "/vipsheader"
        thumbnail = folder + "/vipsthumbnail"
        let needed = [header, thumbnail, "/usr/bin/timeout", "/usr/bin/prlimit"]
        guard needed.allSatisfy(FileManager.default.isExecutableFile) else { return nil }
        limits = [
            "--kill-after=2", "\(seconds)", "/usr/bin/prlimit", "--as=1073741824", "--cpu=\(max(seconds / 2, 1))",
            "--fsize=\(Self.maxByteCount)", "--core=0",
        ]
    }

    /// Creates the thumbnail of a file in a folder, under a name that does not exist yet.
    ///
    /// - Parameter edge: The longer edge of the thumbnail in pixels.
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

    /// Creates a file with one pixel, which has the average color of a thumbnail of this tool.
    ///
    /// - Throws: ``ThumbnailError``.
    func makePixel(of source: URL, as name: String, in folder: URL) async throws {
        let result = try await run([thumbnail, "stdin", "--size", "1x1!", "-o", name], input: source, in: folder)
        guard result.status == 0 else { throw ThumbnailError.unreadable }
    }

    /// Returns the number of pixels in a line such as `320x200 uchar, 3 bands, srgb, pngload_source`.
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
        // After a cancellation, `timeout` ends its child process together with itself.
        await withTaskCancellationHandler {
            for await _ in ends {}
        } onCancel: { [pid = process.processIdentifier] in
            kill(pid, SIGTERM)
        }
        process.waitUntilExit()
        try Task.checkCancellation()
        // The output is one short line, which fits into the pipe's buffer.
        let text = output.fileHandleForReading.readData(ofLength: 4_096)
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }
}

/// The reasons why a thumbnail cannot be created.
enum ThumbnailError: Error {
    /// The tool cannot read the file, or has taken too long.
    case unreadable
    /// The picture has too many pixels.
    case tooLarge
}
