// The part of Apple's framework SwiftUI that Samples/Notes/iOS and the photo tutorial use. Only for typechecking with
// Tests/House/apple. Written from Apple's documentation. Views have no content here, so each builder accepts any views.

public import Foundation
public import UIKit

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { return fatalError("The stub has no body.") }
}

/// The type of every view of the framework in this stub.
public struct StubView: View, Scene {
    public var body: Never { return fatalError("The stub has no body.") }
}

@MainActor @resultBuilder public struct ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> StubView { StubView() }
    public static func buildEither(first: StubView) -> StubView { first }
    public static func buildEither(second: StubView) -> StubView { second }
    public static func buildOptional(_ content: StubView?) -> StubView { StubView() }
}

@MainActor @preconcurrency public protocol Scene {
    associatedtype Body: Scene
    var body: Body { get }
}

extension Never: Scene {}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() {}
}

public struct WindowGroup: Scene {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

public struct EnvironmentValues: Sendable {
    public var scenePhase: ScenePhase { .active }
}

@propertyWrapper public struct Environment<Value> {
    private let value: Value
    public init(_ path: KeyPath<EnvironmentValues, Value>) { value = EnvironmentValues()[keyPath: path] }
    public var wrappedValue: Value { value }
}

@MainActor @propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }
    public init() where Value: ExpressibleByNilLiteral { wrappedValue = nil }
    public var wrappedValue: Value {
        get { fatalError("The stub has no state.") }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { Binding() }
}

@propertyWrapper public struct Binding<Value> {
    public init() {}
    public var wrappedValue: Value {
        get { fatalError("The stub has no state.") }
        nonmutating set {}
    }
}

@MainActor @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: UIApplicationDelegate> {
    public init(_ type: Delegate.Type = Delegate.self) {}
    public var wrappedValue: Delegate { fatalError("The stub has no delegate.") }
}

// MARK: Views

public struct Text: View {
    public init(_ text: some StringProtocol) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct Image: View {
    public init(uiImage: UIImage) {}
    public func resizable() -> Image { self }
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct Button: View {
    public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public protocol PrimitiveButtonStyle {}

public struct BorderlessButtonStyle: PrimitiveButtonStyle {}

extension PrimitiveButtonStyle where Self == BorderlessButtonStyle {
    public static var borderless: BorderlessButtonStyle { BorderlessButtonStyle() }
}

public struct TextField: View {
    public init(_ title: some StringProtocol, text: Binding<String>) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct SecureField: View {
    public init(_ title: some StringProtocol, text: Binding<String>) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct ProgressView: View {
    public init(value: Double?, total: Double = 1) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public enum HorizontalAlignment: Sendable { case leading, center, trailing }

public struct VStack: View {
    public init(alignment: HorizontalAlignment = .center, @ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct List: View {
    public init(@ViewBuilder content: () -> some View) {}
    public init<Element: Identifiable, Content: View>(
        _ elements: [Element], @ViewBuilder rowContent: @escaping (Element) -> Content
    ) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct Form: View {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct Section: View {
    public init(@ViewBuilder content: () -> some View) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct ForEach: View {
    public init<Element: Identifiable, Content: View>(
        _ elements: [Element], @ViewBuilder content: @escaping (Element) -> Content
    ) {}
    public func onDelete(perform action: ((IndexSet) -> Void)?) -> ForEach { self }
    public var body: Never { return fatalError("The stub has no body.") }
}

@available(iOS 16.0, *)
public struct NavigationStack: View {
    public init(@ViewBuilder root: () -> some View) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct NavigationLink: View {
    public init(_ title: some StringProtocol, @ViewBuilder destination: () -> some View) {}
    public var body: Never { return fatalError("The stub has no body.") }
}

public struct Font: Sendable {
    public static let caption = Font()
}

extension View {
    public func scaledToFit() -> StubView { StubView() }
    public func buttonStyle(_ style: some PrimitiveButtonStyle) -> StubView { StubView() }
    public func font(_ font: Font?) -> StubView { StubView() }
    public func navigationTitle(_ title: some StringProtocol) -> StubView { StubView() }
    public func task(_ action: @escaping @MainActor @Sendable () async -> Void) -> StubView { StubView() }
    public func task<ID: Equatable>(
        id: ID, _ action: @escaping @MainActor @Sendable () async -> Void
    ) -> StubView { StubView() }
}

extension Scene {
    @available(iOS 17.0, *)
    public func onChange<Value: Equatable>(of value: Value, _ action: @escaping () -> Void) -> StubView {
        StubView()
    }
}
