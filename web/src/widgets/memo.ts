// SPDX-License-Identifier: Apache-2.0
// A component that renders again only when a property changes (preact/compat has one, with much else).
import { Component, createElement } from 'preact';
import type { ComponentType } from 'preact';

export function memo<P extends object>(inner: (props: P) => preact.JSX.Element): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as Record<string, unknown>;
      const then = next as Record<string, unknown>;
      return (
        Object.keys(then).some((key) => key !== 'children' && now[key] !== then[key]) ||
        Object.keys(now).some((key) => !(key in then))
      );
    }
    override render(props: P) {
      return createElement(inner, props);
    }
  };
}
