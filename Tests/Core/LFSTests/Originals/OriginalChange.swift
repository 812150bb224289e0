import Foundation
import LFSSystem
import Testing

/// A change that another program makes to an original.
enum OriginalChange: CaseIterable {
    case otherBytes, otherBytesInSecret, truncated, replaced, link, deleted, folder

    /// True if the open file no longer has the bytes that it had.
    var isInPlace: Bool { [.otherBytes, .otherBytesInSecret, .truncated].contains(self) }

    func apply(to url: URL) throws {
        let manager = FileManager.default
        switch self {
        case .otherBytes: try overwrite(url)
        case .otherBytesInSecret:
            let date = try #require(try manager.attributesOfItem(atPath: url.path)[.modificationDate] as? Date)
            try overwrite(url)
            try manager.setAttributes([.modificationDate: date], ofItemAtPath: url.path)
        case .truncated: try FileHandle(forWritingTo: url).truncate(atOffset: 10)
        case .replaced:
            let other = try other(than: url)
            try manager.removeItem(at: url)
            try manager.moveItem(at: other, to: url)
        case .link:
            let other = try other(than: url)
            try manager.removeItem(at: url)
            try manager.createSymbolicLink(at: url, withDestinationURL: other)
        case .deleted: try manager.removeItem(at: url)
        case .folder:
            try manager.removeItem(at: url)
            try manager.createDirectory(at: url, withIntermediateDirectories: true)
        }
    }

    /// Writes other bytes over the whole file, whose size stays.
    private func overwrite(_ url: URL) throws {
        let size = try Data(contentsOf: url).count
        let handle = try FileHandle(forWritingTo: url)
        try handle.write(contentsOf: someBytes(size))
        try handle.close()
    }

    private func other(than url: URL) throws -> URL {
        let other = url.deletingLastPathComponent().appendingPathComponent("other-\(FileID.make())")
        try Data(someBytes()).write(to: other)
        return other
    }
}
