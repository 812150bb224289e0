// The part of Apple's framework PhotosUI that Samples/Notes/iOS and the photo tutorial use. Only for typechecking with
// Tests/House/apple. Written from Apple's documentation.

public import SwiftUI

@available(iOS 16.0, *)
public struct PHPickerFilter: Sendable {
    public static let images = PHPickerFilter()
}

@available(iOS 16.0, *)
public struct PhotosPickerItem: Hashable, Sendable {
    public struct EncodingDisambiguationPolicy: Equatable, Hashable, Sendable {
        public static let automatic = Self()
        public static let current = Self()
        public static let compatible = Self()
    }

    public func loadTransferable<Value: Sendable>(type: Value.Type) async throws -> Value? { nil }
}

@available(iOS 16.0, *)
public struct PhotosPicker: View {
    public init(
        _ title: some StringProtocol, selection: Binding<PhotosPickerItem?>, matching: PHPickerFilter? = nil,
        preferredItemEncoding: PhotosPickerItem.EncodingDisambiguationPolicy = .automatic
    ) {}
    public var body: Never { return fatalError("The stub has no body.") }
}
