import CZlib
import Foundation

/// Files in gzip's format, which every system reads. Source: RFC 1952.
enum GzipFile {
    private static let pieceSize = 256 << 10

    /// Writes a compressed copy of a file. It blocks the thread.
    ///
    /// - Throws: ``UploaderError`` when the disk takes no more, or the file cannot be read.
    static func compress(_ source: URL, to target: URL) throws {
        let input = try FileHandle(forReadingFrom: source)
        guard let output = gzopen(target.path, "wb6") else { throw failure(target, errno) }
        var isOpen = true
        defer { if isOpen { gzclose(output) } }
        while let piece = try input.read(upToCount: pieceSize), !piece.isEmpty {
            let count = piece.withUnsafeBytes { gzwrite(output, $0.baseAddress, UInt32($0.count)) }
            guard count == piece.count else { throw failure(target, errno) }
        }
        isOpen = false
        // What is still held back is written here.
        guard gzclose(output) == Z_OK else { throw failure(target, errno) }
    }

    /// Writes what a compressed file holds, which has to be whole: its own checksum and length are compared.
    ///
    /// - Throws: ``UploaderError``.
    static func decompress(_ source: URL, to target: URL) throws {
        guard let input = gzopen(source.path, "rb") else { throw failure(source, errno) }
        defer { gzclose(input) }
        guard FileManager.default.createFile(atPath: target.path, contents: nil, attributes: [.posixPermissions: 0o600])
        else { throw failure(target, errno) }
        let output = try FileHandle(forWritingTo: target)
        var buffer = [UInt8](repeating: 0, count: pieceSize)
        while true {
            let count = gzread(input, &buffer, UInt32(pieceSize))
            guard count >= 0, gzdirect(input) == 0 else {
                throw UploaderError("it is damaged, or no copy of a database: its checksum does not agree")
            }
            if count == 0 { break }
            try output.write(contentsOf: buffer.prefix(Int(count)))
        }
        // A file that was cut off ends like a whole one else.
        var number: Int32 = 0
        _ = gzerror(input, &number)
        guard number == Z_OK || number == Z_STREAM_END else {
            throw UploaderError("it is damaged: it was cut off")
        }
        try output.synchronize()
    }

    private static func failure(_ file: URL, _ number: Int32) -> UploaderError {
        UploaderError("\(file.path): \(number == ENOSPC ? "the disk is full" : String(cString: strerror(number)))")
    }
}
