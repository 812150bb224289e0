// The part of SwiftUI and PhotosUI that the tutorial of the photo app uses, for platforms without these frameworks.
#if !canImport(UIKit)
import Foundation

@MainActor @preconcurrency
protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    var body: Never { return fatalError("A view without content has no body.") }
}

/// A view that is shown by the framework itself.
@MainActor @preconcurrency
protocol LeafView: View where Body == Never {}

extension LeafView {
    var body: Never { return fatalError("A view without content has no body.") }
}

@MainActor @resultBuilder
enum ViewBuilder {
    static func buildBlock<each Content: View>(_ content: repeat each Content) -> Group<(repeat each Content)> {
        Group(content: (repeat each content))
    }

    static func buildEither<First: View, Second: View>(first: First) -> Either<First, Second> { .first(first) }
    static func buildEither<First: View, Second: View>(second: Second) -> Either<First, Second> { .second(second) }
    static func buildOptional<Content: View>(_ content: Content?) -> Optionally<Content> {
        Optionally(content: content)
    }
}

struct Group<Content>: LeafView {
    let content: Content
}

enum Either<First: View, Second: View>: LeafView {
    case first(First)
    case second(Second)
}

struct Optionally<Content: View>: LeafView {
    let content: Content?
}

struct VStack<Content: View>: LeafView {
    let content: Content

    init(@ViewBuilder content: () -> Content) { self.content = content() }
}

struct List<Element: Identifiable, Content: View>: LeafView {
    let elements: [Element]
    let content: (Element) -> Content

    init(_ elements: [Element], @ViewBuilder content: @escaping (Element) -> Content) {
        self.elements = elements
        self.content = content
    }
}

struct Text: LeafView {
    let text: String

    init(_ text: String) { self.text = text }
}

struct Button: LeafView {
    let title: String
    let action: @MainActor () -> Void

    init(_ title: String, action: @escaping @MainActor () -> Void) {
        self.title = title
        self.action = action
    }
}

struct BorderlessButtonStyle {
    static let borderless = BorderlessButtonStyle()
}

struct Image: LeafView {
    let image: UIImage

    init(uiImage image: UIImage) { self.image = image }

    func resizable() -> Image { self }
    func scaledToFit() -> some View { self }
}

struct UIImage: Sendable {
    let data: Data

    init?(data: Data) {
        guard !data.isEmpty else { return nil }
        self.data = data
    }
}

struct PhotosPicker: LeafView {
    enum Filter { case images }

    let title: String
    let selection: Binding<PhotosPickerItem?>

    init(
        _ title: String, selection: Binding<PhotosPickerItem?>, matching: Filter,
        preferredItemEncoding: PhotosPickerItem.EncodingDisambiguationPolicy
    ) {
        self.title = title
        self.selection = selection
    }
}

struct PhotosPickerItem: Hashable, Sendable {
    enum EncodingDisambiguationPolicy { case compatible }

    func loadTransferable<Value: Sendable>(type: Value.Type) async throws -> Value? { nil }
}

@propertyWrapper
struct State<Value> {
    private final class Box {
        var value: Value

        init(_ value: Value) { self.value = value }
    }

    private let box: Box

    init(wrappedValue: Value) { box = Box(wrappedValue) }
    init() where Value: ExpressibleByNilLiteral { box = Box(nil) }

    var wrappedValue: Value {
        get { box.value }
        nonmutating set { box.value = newValue }
    }

    var projectedValue: Binding<Value> { Binding(get: { box.value }, set: { box.value = $0 }) }
}

struct Binding<Value> {
    let get: () -> Value
    let set: (Value) -> Void
}

extension View {
    func buttonStyle(_ style: BorderlessButtonStyle) -> some View { self }
    func task(_ action: @escaping @MainActor () async -> Void) -> some View { self }
    func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor () async -> Void) -> some View { self }
}
#endif
