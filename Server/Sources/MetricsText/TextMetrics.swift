public import CoreMetrics
import Synchronization

/// A metrics factory that keeps the values that libraries report to swift-metrics, and prints them in Prometheus
/// format.
///
/// ```swift
/// let metrics = TextMetrics()
/// MetricsSystem.bootstrap(metrics)
/// print(metrics.text())
/// ```
///
/// The factory owns the series, and each of them lives until it is destroyed. Format:
/// https://prometheus.io/docs/instrumenting/exposition_formats/ (text, version 0.0.4).
public final class TextMetrics: MetricsFactory {
    /// The media type of ``text()``.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private let series = Mutex<[SeriesName: Series]>([:])

    /// Creates a factory without series.
    public init() {}

    /// Returns all series, sorted by name.
    public func text() -> String {
        let series = series.withLock { $0 }.sorted { $0.key < $1.key }
        var (text, last) = ("", "")
        for (name, value) in series {
            if name.name != last { text += "# TYPE \(name.name) \(name.kind.rawValue)\n" }
            last = name.name
            text += value.lines(name)
        }
        return text
    }

    private func make(_ label: String, kind: SeriesName.Kind, unit: String, dimensions: [(String, String)])
        -> Series
    {
        let name = SeriesName(label, kind: kind, unit: unit, dimensions: dimensions)
        return series.withLock { all in
            if let known = all[name] { return known }
            let made = Series(name)
            all[name] = made
            return made
        }
    }

    private func destroy(_ handler: AnyObject) {
        guard let gone = handler as? Series else { return }
        series.withLock { $0[gone.name] = nil }
    }

    // MARK: What libraries ask for

    /// Creates a number that only increases.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        make(label, kind: .counter, unit: "_total", dimensions: dimensions)
    }

    /// Creates a number with a fraction that only increases.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        make(label, kind: .counter, unit: "_total", dimensions: dimensions)
    }

    /// Creates a number that can increase and decrease.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        make(label, kind: .gauge, unit: "", dimensions: dimensions)
    }

    /// Creates a series of numbers. It keeps their count and sum, or only the last one.
    public func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        make(label, kind: aggregate ? .summary : .gauge, unit: "", dimensions: dimensions)
    }

    /// Creates a series of durations. It keeps their count and their sum in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        make(label, kind: .summary, unit: "_seconds", dimensions: dimensions)
    }

    /// Removes a series.
    public func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    /// Removes a series.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }
    /// Removes a series.
    public func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
    /// Removes a series.
    public func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    /// Removes a series.
    public func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }
}
