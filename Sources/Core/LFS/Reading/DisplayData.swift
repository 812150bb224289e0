public import Foundation

/// The bytes to show for a file, from ``LFSManager/displayData(of:)``.
public struct DisplayData: Hashable, Sendable {
    /// The bytes of the file or of its placeholder.
    public let data: Data
    /// True if the bytes of the file are not on this device, and ``data`` is shown in their place.
    public let isPlaceholder: Bool

    package init(data: Data, isPlaceholder: Bool) {
        self.data = data
        self.isPlaceholder = isPlaceholder
    }
}
